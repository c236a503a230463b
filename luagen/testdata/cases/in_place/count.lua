---@library
---@include ask.lua

-- counted is called once.
local function counted(key, by)
  may('incrby', key)
  local old = redis.call('get', key)
  if not old then
    redis.call('set', key, by)
    return by, 'made'
  end
  local total = redis.call('incrby', key, by)
  return total, 'counted'
end

-- label is called twice.
local function label(text)
  local known = {made = 'new', counted = 'old'}
  return known[text]
end

-- doubled has a function of its own.
local function doubled(n)
  local function twice(m)
    return m * 2
  end
  return twice(n)
end
