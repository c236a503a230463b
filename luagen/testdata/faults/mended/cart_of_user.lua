local function load(key)
  local raw = redis.call('GET', key)
  return raw and cjson.decode(raw) or {items = {}, total = 0}
end

local function save(key, cart)
  local text = cjson.encode(cart) redis.call('SET', key, string.gsub(text, '"items":{}', '"items":[]'), 'KEEPTTL')
end

local cart = load(KEYS[1])
cart.total = cart.total + tonumber(ARGV[1])
save(KEYS[1], cart)
return cart.total
