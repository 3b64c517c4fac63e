import { delta } from "./delta.ts";
import { gammaCloud, gammaServer } from "./gamma.ts";
import { describeRecorded } from "./suite.ts";

describeRecorded(gammaCloud);
describeRecorded(gammaServer);
describeRecorded(delta);
