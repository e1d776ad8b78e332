export const experiments = {} as const;
