--- What may be nil is not, behind a condition.
---@key lock hash
---@arg lease milliseconds?
---@arg limit int(1..9)?
---@return int a
---@return int b
local n = redis.call('hget', lock, 'n')
if n then
  return {n, tonumber(n) + 1}
end
if limit and limit ~= '3' then
  redis.call('hset', lock, 'n', limit)
  return {limit, 0}
end
if not lease then
  return {0, 0}
end
local more = limit or 1
local wait
if lease == '5' then wait = 1 else wait = 2 end
if wait == 2 and more then
  return {lease, more}
end
return {lease, wait}
