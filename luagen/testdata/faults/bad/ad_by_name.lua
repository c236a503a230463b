local function read(key)
  local ad = {}
  ad.slot = redis.call('hget', key, 'slot')
  ad.cap = redis.call('hget', key, 'cap')
  return ad
end

return read(KEYS[1])
