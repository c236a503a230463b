local capacity, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens = math.min(capacity, tonumber(redis.call('get', KEYS[1]) or 0) + 5)
if tokens < capacity then
  redis.call('set', KEYS[1], tokens, 'ex', math.ceil((capacity - tokens) / per))
end
if tokens < 1 then
  return 0
end
tokens = tokens - 1
redis.call('set', KEYS[1], tokens, 'ex', math.ceil((capacity - tokens) / per))
local other = math.min(capacity, tonumber(redis.call('get', KEYS[2]) or 0) + 5)
local life = math.ceil((capacity - other) / per)
if life < 1 then
  life = 1
end
return redis.call('set', KEYS[2], other, 'ex', life)
