import { alpha } from "./alpha.ts";
import { beta } from "./beta.ts";
import { describeRecorded } from "./suite.ts";

describeRecorded(alpha);
describeRecorded(beta);
