/**
 * Remembers a value for each key, but for `most` keys at a time, because a process that runs for months must not keep a value for every
 * account whose credentials were rotated. A further key replaces the one that was first used the longest time ago.
 */
export function rememberLatest<T>(most: number): (key: string, make: () => T) => T {
  const values = new Map<string, T>();
  return (key, make) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = make();
    if (values.size >= most) values.delete(values.keys().next().value as string);
    values.set(key, value);
    return value;
  };
}
