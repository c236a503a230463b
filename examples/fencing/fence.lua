--- Compares fencing tokens.
---
---@library

-- passes reports whether the holder of token may claim a resource, given the highest token that has claimed it;
-- false: none has. Tokens are compared as texts of digits: as numbers they may pass 2^53.
local function passes(token, highest)
  return not highest or #token > #highest or #token == #highest and token >= highest
end
