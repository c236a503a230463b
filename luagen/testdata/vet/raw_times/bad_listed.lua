local f, g = tonumber(ARGV[1]), tonumber(ARGV[2])
local words = {KEYS[2], 'v', 'NX'}
if 0 <= f then
  table.insert(words, 'EX')
  table.insert(words, f)
elseif g >= 0 then
  words[#words + 1] = 'PX'
  words[#words + 1] = g
end
redis.call('set', unpack(words))
for i = 3, #KEYS do
  -- life: can be 0 (no expiry)
  local life = tonumber(ARGV[i])
  if life then
    redis.call('expire', KEYS[i], life)
  end
end
