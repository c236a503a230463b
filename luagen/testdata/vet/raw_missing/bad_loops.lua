-- A key of its own in each turn says nothing of the reply.
local total = 0
for i = 1, #KEYS do
  local last = redis.call('lindex', KEYS[i], -1)
  if string.sub(last, 1, 2) == '0:' then total = total + 1 end
  total = total + redis.call('get', ARGV[i] .. ':total')
end
local owner = redis.call('get', KEYS[1])
return {owner or nil, ARGV[1] == 'all' and total or nil, redis.call('pttl', KEYS[1])}
