import { type Problem, problem } from "@signalbox/schema/problem";

/** A request that is valid protobuf but not valid for the schema. Names the member. */
export class Fault extends Error {
  override readonly name = "Fault";
  path = "";

  /** Runs `read`, and adds `part` to the path of a fault in it. Without a fault, it costs nothing. */
  static at<T>(part: string | number, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (error instanceof Fault) {
        const here = typeof part === "number" ? `[${part}]` : part;
        error.path = !error.path || error.path.startsWith("[") ? here + error.path : `${here}.${error.path}`;
      }
      throw error;
    }
  }

  toProblem(): Problem {
    return problem("bad_request", this.path ? `${this.path}: ${this.message}` : this.message, {
      cause: this,
      ...(this.path && { field: this.path }),
    });
  }
}
