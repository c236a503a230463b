-- Lists without gaps, or that the script does not return, or cuts; and fields of JSON.
local ttls, counts, owners, names, found = {}, {}, {}, {}, {}
for i = 1, #KEYS do
  local ttl, owner = redis.call('pttl', KEYS[i]), redis.call('hget', KEYS[i], 'owner')
  ttls[i] = ttl >= 0 and ttl or false
  counts[i] = tonumber(redis.call('get', KEYS[i])) or 0
  if owner then owners[i] = owner else owners[i] = '' end
  if owner then names[owner] = ttl end
  if owner then found[#found + 1] = owner end
  if i <= 2 then found[i] = ARGV[i] end
end
for i = 3, #found do found[i] = nil end
for i = #ttls, 1, -1 do
  if ttls[i] == false then ttls[i] = nil end
end
local job = cjson.decode(ARGV[1])
if names[ARGV[1]] then return {tonumber(job.limit), tonumber(job.used) or 0, 1} end
return {ttls, counts, owners, found}
