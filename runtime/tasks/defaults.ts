const task = (id: string, name: string, actor_id: string, description: string, actor_fallback: string) => ({
  id,
  name,
  description,
  actor_id,
  actor_fallback,
  required_capabilities: [] as string[],
});

/** The nine default tasks. */
export const defaultTasks = [
  task(
    "triage_initial_intent",
    "Triage: initial intent",
    "pm_default",
    "Understand what the issue asks for. Summarise the intent, list requirements and open questions.",
    "You are a product manager. Summarise what this issue asks for and what is unclear.",
  ),
  task(
    "tech_discovery_review",
    "Technical discovery",
    "ta_default",
    "Judge the technical feasibility of the issue: affected parts, risks, alternatives, a rough estimate.",
    "You are a software architect. Judge the technical feasibility of this issue.",
  ),
  task(
    "intent_interpretation",
    "Interpretation of intent",
    "pm_default",
    "Clarify the requirements: turn the issue and its discussion into acceptance criteria.",
    "You are a product manager. Turn this issue into clear acceptance criteria.",
  ),
  task(
    "technical_grooming",
    "Technical grooming",
    "ta_default",
    "Prepare the issue for implementation: split it into steps, name files and interfaces, note dependencies.",
    "You are a software architect. Prepare this issue for implementation.",
  ),
  task(
    "dev_environment_setup",
    "Development environment",
    "hub_system",
    "Say what a development environment for this issue needs and how to set it up.",
    "You coordinate development. Say how to set up an environment for this issue.",
  ),
  task(
    "feature_implementation",
    "Implementation",
    "dev_default",
    "Write the code that the issue asks for, with its tests.",
    "You are a developer. Propose the code for this issue.",
  ),
  task(
    "code_quality_audit",
    "Code quality audit",
    "ta_default",
    "Review the quality of the change: correctness, structure, naming, security, performance.",
    "You are a software architect. Review the quality of this change.",
  ),
  task(
    "quality_verification",
    "Quality verification",
    "qa_default",
    "Plan and judge the testing of the change or deployment: what is covered, what must still be verified.",
    "You are a quality engineer. Say what must be tested before this change is done.",
  ),
  task(
    "customer_uat_sync",
    "Customer acceptance",
    "pm_default",
    "Write what the customer should know about the present state of the issue, and what is wanted from them.",
    "You are a product manager. Summarise the state of this issue for the customer.",
  ),
] as const;
