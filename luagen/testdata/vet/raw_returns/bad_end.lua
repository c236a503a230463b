local items = cjson.decode(ARGV[1])
for _, item in ipairs(items) do
  if not redis.call('hget', KEYS[1], item[1]) then
    return item[1]
  end
end
if redis.call('hsetnx', KEYS[2], ARGV[2], ARGV[1]) == 0 then
  return -1
end
for _, item in ipairs(items) do
  redis.call('hincrby', KEYS[1], item[1], -item[2])
end
