local function read(key)
  local ad = {}
  ad.slot = redis.call('hget', key, 'slot')
  ad.cap = redis.call('hget', key, 'cap')
  return {ad.slot, ad.cap}
end

return read(KEYS[1])
