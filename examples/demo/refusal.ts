/** An error response of the platform. */
export class Refusal extends Error {
  readonly status: 400 | 401 | 403 | 404 | 422;
  readonly errors: readonly unknown[] | undefined;
  constructor(status: Refusal["status"], message: string, errors?: readonly unknown[]) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

export const invalid = (resource: string, code: string, field: string): Refusal =>
  new Refusal(422, "Validation Failed", [{ resource, code, field }]);

export const refusalResponse = ({ status, message, errors }: Refusal): Response =>
  Response.json(
    { message, ...(errors ? { errors } : {}), documentation_url: "https://docs.github.com/rest", status: String(status) },
    { status },
  );
