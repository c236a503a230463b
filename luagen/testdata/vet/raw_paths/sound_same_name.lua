local function life_of(limiter, n)
  if n > 3 then
    return n
  end
  return redis.call('pttl', limiter)
end
local function keep(limiter, value, held)
  local life = life_of(limiter, held)
  if held and life > 0 then
    redis.call('set', value, held, 'px', life)
  elseif held then
    redis.call('set', value, held)
  end
end
keep(KEYS[1], KEYS[2], tonumber(ARGV[1]))
return 1
