-- Where ways have joined, it is not known by which condition they part: a caller may have chosen it.
local held = ARGV[1]
local life = tonumber(ARGV[2])
if life > 5 then life = redis.call('pttl', KEYS[1]) end
if life > 10 then redis.call('pexpire', KEYS[3], 60000) end
if life > 0 then redis.call('pexpire', KEYS[1], life) end
if held and life > 0 then
  redis.call('set', KEYS[2], held, 'px', life)
elseif held then
  redis.call('set', KEYS[2], held)
end
return 1
