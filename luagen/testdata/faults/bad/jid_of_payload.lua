local seen = 0
for _, raw in ipairs(redis.call('lrange', KEYS[1], 0, 99)) do
  local job = cjson.decode(raw)
  redis.call('sadd', KEYS[2], 'jid-' .. job['jid'])
  seen = seen + 1
end
return seen
