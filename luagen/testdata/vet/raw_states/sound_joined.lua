-- Where ways have joined, it is not known by which condition they part: a caller may have chosen it.
local function life_of(key, most)
  if most > 5 then return most end
  return redis.call('pttl', key)
end
local function keep(key, value, held, life)
  if life > 10 then redis.call('pexpire', KEYS[3], 60000) end
  if life > 0 then redis.call('pexpire', key, life) end
  if held and life > 0 then
    redis.call('set', value, held, 'px', life)
  elseif held then
    redis.call('set', value, held)
  end
end
keep(KEYS[1], KEYS[2], ARGV[1], life_of(KEYS[1], tonumber(ARGV[2])))
return 1
