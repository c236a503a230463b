-- What looks like a fault and is none.
local nothing = pcall(function() return cjson.decode() end)
local all = (table.unpack or unpack)(KEYS)
if table.maxn and table.move then return table.move(KEYS, 1, 2, 1) end
for _, m in ipairs(redis.call('zrangebyscore', KEYS[1], ARGV[1], ARGV[2])) do
  if m > ARGV[3] then return m end
end
if nothing or all == '' then return redis.error_reply('数量不能为0') end
return 0
