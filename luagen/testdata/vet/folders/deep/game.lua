local screen = love.graphics.newScreen() screen = 1
