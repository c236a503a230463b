--- Goes on after branches that all return, and after an error.
---@key lock string
---@return int n
---@readonly
local n = redis.call('strlen', lock)
if n > 1 then
  do return 1 end
  n = 2
elseif n > 0 then
  return 2
else
  error('none')
end
return n
