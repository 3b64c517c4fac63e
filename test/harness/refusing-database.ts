import { randomUUID } from "node:crypto";
import { type FreshDatabase, freshDatabase } from "./databases.ts";

export const databaseName = ({ url }: Pick<FreshDatabase, "url">): string => new URL(url).pathname.slice(1);

/** A role without rights on the database, and the database's URL with it. */
export async function roleWithoutRights(database: FreshDatabase) {
  const name = `${databaseName(database)}_role`;
  const password = randomUUID();
  await database.query(`create role "${name}" login password '${password}'`);
  const url = new URL(database.url);
  url.username = name;
  url.password = password;
  const own = async () => void (await database.query(`alter database "${databaseName(database)}" owner to "${name}"`));
  const drop = async () => {
    await database.query(`reassign owned by "${name}" to current_user`);
    await database.query(`drop owned by "${name}"`);
    await database.query(`drop role "${name}"`);
  };
  return { name, url: url.href, own, [Symbol.asyncDispose]: drop };
}

/** A new database whose sessions have this setting. */
export async function databaseWith(setting: string): Promise<FreshDatabase> {
  const database = await freshDatabase();
  await database.query(`alter database "${databaseName(database)}" set ${setting}`);
  return database;
}

/** A new database in another encoding. */
export async function databaseIn(encoding: string) {
  const database = await freshDatabase();
  const name = `${databaseName(database)}_encoding`;
  await database.query(`create database "${name}" encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`);
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  const drop = async () => {
    await database.query(`drop database "${name}" with (force)`);
    await database.drop();
  };
  return { url: url.href, [Symbol.asyncDispose]: drop };
}
