local function changed(raw)
  local doc = cjson.decode(raw)
  doc.at = tonumber(ARGV[1])
  return cjson.encode(doc)
end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  redis.call('HSET', KEYS[1], name, changed(redis.call('HGET', KEYS[1], name)))
end
return 1
