/** Words between angle or square brackets that mark roles, turns and tool calls in the templates of chat models and agents. */
const angleWords = [
  // Gemma, and the tokens of most tokenizers.
  "start_of_turn",
  "end_of_turn",
  "start_of_image",
  "end_of_image",
  "bos",
  "eos",
  "pad",
  "unk",
  "s",
  // Llama 2, Qwen, Hermes, and the formats of tool calls.
  "system",
  "assistant",
  "human",
  "developer",
  "system-reminder",
  "system_prompt",
  "system-prompt",
  "system_message",
  "tool_call",
  "tool_calls",
  "tool_result",
  "tool_results",
  "tool_response",
  "tool_use",
  "tool_output",
  "function_call",
  "function_calls",
  "function_result",
  "function_results",
  "function_response",
  "invoke",
  "antml:[a-z_]+",
  // Our own fences.
  "[a-z][a-z-]{0,30}-[0-9a-f]{12}",
];
const bracketTokens = [
  "INST",
  "SYSTEM_PROMPT",
  "AVAILABLE_TOOLS",
  "TOOL_CALLS",
  "TOOL_RESULTS",
  "TOOL_CONTENT",
  "PREFIX",
  "SUFFIX",
  "MIDDLE",
  "IMG",
  "IMG_BREAK",
  "IMG_END",
  "CALL_ID",
  "ARGS",
  "THINK",
];

/** ChatML, Llama 3, Phi, GLM, Command and harmony: `<|im_start|>`; DeepSeek writes wide bars and U+2581. */
const pipeToken = /<(?=[|\uff5c][\w\u2581.:/@-]{1,64}[|\uff5c]>)/g;
const angleToken = new RegExp(`<(?=/?(?:${angleWords.join("|")})(?:\\s[^<>\\n]{0,200})?/?>)`, "gi");
/** Llama 2's system prompt: `<<SYS>>`. */
const doubleAngleToken = /<(?=<\/?SYS>>)/gi;
const bracketedTokens = new RegExp(`\\[(?=/?(?:${bracketTokens.join("|")})\\])`, "gi");
/** A line that begins a turn in plain text: `Human:`, `### Assistant:`, `**System:**`. */
const turns =
  /^([ \t]{0,3}(?:>[ \t]?){0,3}(?:[*_]{0,3}(?:human|assistant|system|user|developer)|#{1,6}[ \t]{1,4}(?:human|assistant|system|user|developer|instruction|response))[*_]{0,3})(?=:)/gim;

/**
 * Breaks up everything that a chat template, or a parser of a model's output, could read as one of its tokens: inserts one space
 * after the bracket, or before the colon. People read the same. Takes linear time.
 */
export function withoutRoleTokens(text: string): string {
  let clean = text;
  if (clean.includes("<")) clean = clean.replace(pipeToken, "< ").replace(doubleAngleToken, "< ").replace(angleToken, "< ");
  if (clean.includes("[")) clean = clean.replace(bracketedTokens, "[ ");
  return clean.includes(":") ? clean.replace(turns, "$1 ") : clean;
}
