-- A list that is filled at the places of a loop, and an LPOP that replies with a list, or with nil.
local blocked, queued = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), {}
for i = 1, #blocked - 1, 2 do
  queued[i], queued[i + 1] = blocked[i + 1], ARGV[1] .. blocked[i]
end
if #blocked > 0 then redis.call('ZADD', KEYS[2], unpack(queued)) end
local popped = redis.call('LPOP', KEYS[3], ARGV[2])
for _, job in ipairs(popped) do redis.call('HDEL', KEYS[4], job) end
return cjson.encode(redis.call('RPOP', KEYS[5], ARGV[3]) or {})
