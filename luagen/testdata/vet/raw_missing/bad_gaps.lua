-- Lists that the script returns, with nil in some places.
local ttls, counts, owners, values = {}, {}, {}, redis.call('mget', unpack(KEYS))
for i = 1, #KEYS do
  local ttl, owner = redis.call('pttl', KEYS[i]), redis.call('get', ARGV[i])
  ttls[i] = ttl >= 0 and ttl or nil
  counts[i] = tonumber(redis.call('get', KEYS[i]))
  if owner then owners[i] = owner end
end
for i, value in ipairs(values) do
  if value == '' then values[i] = nil end
end
local all, reply = {}, redis.call('hgetall', KEYS[1])
for i = 1, #reply, 2 do all[reply[i]] = reply[i + 1] end
if ARGV[1] == 'ttls' then return ttls end
if ARGV[1] == 'lists' then return {counts, owners, values} end
return {tonumber(all.limit) or 0, tonumber(all.used) or 0, 1}
