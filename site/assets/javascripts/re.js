/** Python's regular expressions for the modules that a build translates: all of ASCII letters, in any case. */

export const compile = (pattern) => new RegExp(pattern, "gi");
/** Its parts, or nothing. */
export const search = (pattern, text) => text.matchAll(compile(pattern)).next().value;
export const fullmatch = ({ source }, text) => search(`^(?:${source})$`, text);
export const findall = (pattern, text) => text.match(compile(pattern)) ?? [];
export const sub = (pattern, to, text) => text.replace(compile(pattern), to.replaceAll("\\", "$"));
