--- Stores the objects of a JSON array, each in a field by its id, and returns how many there were.
---@key objects hash
---@arg batch bytes
---@return int stored
---@error BADJSON the batch is no JSON
local ok, list = pcall(cjson.decode, batch)
if not ok or type(list) ~= 'table' then
  return redis.error_reply('BADJSON the batch is no JSON')
end
for _, object in ipairs(list) do
  redis.call('hset', objects, object.id, cjson.encode(object))
end
return #list
