---@library

-- ends_of returns a function, so it is made.
local function ends_of(mark)
  return function(text)
    return text .. mark
  end
end

-- pass calls ends_of twice, so it is made after it.
local function pass(first, second)
  for i = 1, 2 do
    if first == second then
      return ends_of('!')(first)
    end
  end
  return ends_of('?')(second)
end

-- mine uses a name that the script also has: it is made before the script's own code.
local function mine(text)
  return type(text), pcall(ends_of, text)
end

-- step is called by the script in a loop, and by pace.
local function step(n)
  while n > 3 do
    n = n - 1
    if n == 7 then
      return n
    end
  end
  return n
end

local function pace(list)
  for i = 1, #list do
    list[i] = step(list[i]) + step(i)
  end
  return list
end
