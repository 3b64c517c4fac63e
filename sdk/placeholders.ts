/** A shorter value may be part of ordinary words, so removing it would damage every text. */
const minLength = 5;

/** What people enter where a server takes any key, in lowercase: such words occur in error messages. */
const words = new Set(
  `none null empty dummy fake test token secret password placeholder example demo anything unused changeme local localhost
   ollama lmstudio lm-studio vllm llamacpp llama.cpp llama-cpp localai litellm apikey api-key api_key your-api-key your_api_key
   nokey no-key no_key no-key-required sk-no-key-required not-needed not_needed not-required not-used`.split(/\s+/),
);

/** Whether a value is too short or too common to be a secret: texts that contain it are not redacted. */
export const isPlaceholder = (value: string): boolean => value.length < minLength || words.has(value.toLowerCase());
