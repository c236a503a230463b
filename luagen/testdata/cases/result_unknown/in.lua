--- What is not certain is not reported.
---@key queue list
---@key counts hash
---@arg n int(1..9)?
---@arg more int(1..9)?
---@arg names string...
---@return string name
---@return string second
---@return int count
local first
for _, name in ipairs(names) do
  if name ~= '' then first = name break end
end
local last, best
if n then
  last, best = 'x', 'y'
end
local has = n ~= nil
if has then
  return {last, names[1], n}
end
local function fits(x) return x end
if fits(more) then
  return {'x', 'y', more}
end
local list = {string.gsub(names[1], 'a', 'b')}
if #list > 2 then
  return {'x', string.gsub(names[1], 'a', 'b')}
end
local data = cjson.decode(redis.call('lindex', queue, 0) or '[]')
if data.n then
  return {data.name, first, redis.call('hget', counts, best or '')}
end
redis.call('del', queue)
return data
