local capacity, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local tokens = math.min(capacity, tonumber(redis.call('get', KEYS[1]) or 0) + 5)
redis.call('set', KEYS[1], tokens, 'ex', math.ceil((capacity - tokens) / per))
local kept, rest = tokens, tokens - 1
if rest >= 0 then
  kept = rest
end
redis.call('set', KEYS[1], kept, 'ex', math.ceil((capacity - kept) * per))
