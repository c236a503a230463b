--- Compares fencing tokens.
---
---@library

-- passes reports whether a write under token may go on, given the highest token that the resource has
-- seen; false: none. Tokens are compared as texts of digits: as numbers they may pass 2^53.
local function passes(token, highest)
  return not highest or #token > #highest or #token == #highest and token >= highest
end
