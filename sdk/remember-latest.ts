/**
 * Remembers the value of each of the latest `most` keys: a process that runs for months must not keep what it made for every old key,
 * for example for each account whose credentials were rotated.
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
