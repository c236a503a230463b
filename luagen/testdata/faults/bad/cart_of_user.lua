local function load(key)
  local raw = redis.call('GET', key)
  return raw and cjson.decode(raw) or {items = {}, total = 0}
end

local function save(key, cart)
  redis.call('SET', key, cjson.encode(cart), 'KEEPTTL')
end

local cart = load(KEYS[1])
cart.total = cart.total + tonumber(ARGV[1])
save(KEYS[1], cart)
return cart.total
