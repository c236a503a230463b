local best, most
for _, key in ipairs(KEYS) do
  local size = redis.call('LLEN', key)
  if size > 0 and (not most or size > most) then
    best, most = key, size
  end
end
if best then
  return redis.call('LPOP', best)
end
return false
