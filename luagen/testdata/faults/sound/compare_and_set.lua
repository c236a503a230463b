local raw = redis.call('GET', KEYS[1])
local version = 0
if raw then
  version = tonumber(string.match(raw, '^(%d+):') or '0')
end
if version ~= tonumber(ARGV[1]) then
  return {0, version}
end
redis.call('SET', KEYS[1], (version + 1) .. ':' .. ARGV[2], 'KEEPTTL')
return {1, version + 1}
