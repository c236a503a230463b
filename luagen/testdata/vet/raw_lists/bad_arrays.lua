-- Lists that stay empty where the script knows of [].
if redis.call('exists', KEYS[1]) == 0 then return '[]' end
local list = cjson.decode(redis.call('get', KEYS[1]) or '[]')
for _, entry in ipairs(list) do
  if entry.id == ARGV[1] then entry.done = true end
end
redis.call('set', KEYS[1], cjson.encode(list))
local items, ids = {}, redis.call('lrange', KEYS[2], 0, 9)
for i, id in ipairs(ids) do items[i] = redis.call('hget', KEYS[3], id) or '' end
redis.call('set', KEYS[4], cjson.encode(items))
local function others()
  local found = {}
  for _, id in ipairs(ids) do
    if id ~= ARGV[1] then found[#found + 1] = id end
  end
  return found
end
redis.call('publish', KEYS[5], cjson.encode(others()))
local rest = others()
return cjson.encode({rest = rest})
