/** A message: text with `{name}` holes, or its plural forms chosen by `{count}`. */
export type Message = string | { readonly one?: string; readonly other: string };

/** What a translation of the English messages `T` must hold: the same keys. */
export type Translation<T> = { readonly [K in keyof T]: Message };
