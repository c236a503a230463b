local words, life = {KEYS[1], 'v'}, tonumber(ARGV[1])
if life > 0 then
  table.insert(words, 'EX')
  table.insert(words, life)
end
redis.call('set', unpack(words))
for i = 3, #KEYS do
  local each = tonumber(ARGV[i])
  if each and each > 0 then
    redis.call('expire', KEYS[i], each)
  end
end
