local function field(raw, name)
  local doc = cjson.decode(raw)
  return doc[name]
end
local count = field(redis.call('GET', KEYS[1]), ARGV[1])
return count or 0
