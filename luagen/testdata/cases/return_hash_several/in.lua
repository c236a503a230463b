--- Reads some jobs.
---@key side hash prefix level: int
---@key jobs hash... name: string, tries: int?
---@arg first bool
---@return int n
---@return jobs?[] all
---@return jobs(name)[] named
---@return side level
---@return jobs? one
---@return nil
---@readonly
if first then
  return false
end
local all, named = {}, {}
for _, job in ipairs(jobs) do
  table.insert(all, redis.call('hgetall', job))
  table.insert(named, redis.call('hmget', job, 'name'))
end
return {#jobs, all, named, redis.call('hgetall', side .. ':level'), false}
