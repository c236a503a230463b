local out = {}
for i, key in ipairs(KEYS) do
  local value = redis.call('GET', key)
  if value then
    out[ARGV[i]] = value
  end
end
return cjson.encode(out)
