---@key note string?
---@return int n
if note == '' then
  return 0
end
return redis.call('incr', note)
