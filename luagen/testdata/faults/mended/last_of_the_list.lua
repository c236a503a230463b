local items = cjson.decode(redis.call('GET', KEYS[1]) or '[]')
local kept = {}
for _, item in ipairs(items) do
  if item ~= ARGV[1] then
    kept[#kept + 1] = item
  end
end
redis.call('SET', KEYS[1], #kept == 0 and '[]' or cjson.encode(kept))
return #kept
