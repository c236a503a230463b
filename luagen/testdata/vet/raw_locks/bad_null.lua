local patch = cjson.decode(ARGV[1])
for field, value in pairs(patch) do
  if value == nil then redis.call('hdel', KEYS[1], field) else redis.call('hset', KEYS[1], field, value) end
end
if patch.parent then redis.call('set', KEYS[2], patch.parent.id, 'EX', 60) end
return 1
