local ids = redis.call('lrange', KEYS[1], 0, ARGV[1] - 1)
local messages = {}
for i = 1, #ids do
  local message = redis.call('hget', KEYS[2], ids[i])
  if message ~= nil then
    table.insert(messages, message)
    redis.call('rpush', KEYS[3], message)
  end
end
return messages
