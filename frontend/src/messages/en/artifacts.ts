export const artifacts = {} as const;
