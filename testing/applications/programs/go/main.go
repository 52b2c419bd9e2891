// Gorm's work on a server: migration, associations, hooks, transactions, upserts, batches, locks, and its migrator.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type Company struct {
	ID    uint
	Name  string `gorm:"size:100;uniqueIndex;comment:what it's called"`
	Users []User
}

type Language struct {
	Code string `gorm:"primaryKey;size:10"`
	Name string
}

type Card struct {
	gorm.Model
	Number string `gorm:"size:20"`
	UserID uint
}

type User struct {
	gorm.Model
	Name      string `gorm:"size:60;index:by_name_age,priority:1"`
	Age       uint8  `gorm:"index:by_name_age,priority:2;check:age_limit,age < 200"`
	Email     *string
	Birthday  *time.Time
	Score     float64 `gorm:"type:decimal(10,3);default:1.5"`
	Active    bool    `gorm:"default:true"`
	Data      []byte
	Nick      sql.NullString `gorm:"size:30;unique"`
	CompanyID *uint
	Company   *Company `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL"`
	ManagerID *uint
	Manager   *User
	Cards     []Card     `gorm:"constraint:OnDelete:CASCADE"`
	Speaks    []Language `gorm:"many2many:user_speaks"`
}

func (u *User) BeforeCreate(tx *gorm.DB) error {
	if u.Name == "nobody" {
		return errors.New("nobody is refused")
	}
	return nil
}

func (u *User) AfterFind(tx *gorm.DB) error { u.Name = strings.TrimSpace(u.Name); return nil }

func check(what string, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", what, err)
	}
}

func say(what string, values ...any) { fmt.Println(append([]any{what}, values...)...) }

func main() {
	address := fmt.Sprintf("%s:%s@tcp(127.0.0.1:%s)/", os.Args[2], os.Args[3], os.Args[1])
	const options = "?charset=utf8mb4&parseTime=True&loc=UTC"
	root, err := sql.Open("mysql", address+options)
	check("open", err)
	_, err = root.Exec("CREATE DATABASE gorm DEFAULT CHARACTER SET utf8mb4")
	check("create database", err)
	db, err := gorm.Open(mysql.Open(address+"gorm"+options), &gorm.Config{Logger: logger.Discard, TranslateError: true})
	if err != nil {
		panic(err)
	}
	all := []any{&Company{}, &Language{}, &User{}, &Card{}}
	check("migrate", db.AutoMigrate(all...))
	check("migrate again", db.AutoMigrate(all...))
	rows(db)
	transactions(db)
	migrator(db)
	check("drop", db.Migrator().DropTable("user_speaks", &Card{}, &User{}, &Language{}, &Company{}))
	tables, err := db.Migrator().GetTables()
	say("left", tables, err)
}

func rows(db *gorm.DB) {
	born := time.Date(1990, 2, 3, 4, 5, 6, 789000000, time.UTC)
	mail := "ada@example.org"
	ada := User{
		Name: " Ada ", Age: 36, Email: &mail, Birthday: &born, Data: []byte{0, 1, 254, 255},
		Company: &Company{Name: "Engines; Ltd"}, Cards: []Card{{Number: "1"}, {Number: "2"}},
		Speaks: []Language{{Code: "en", Name: "English"}, {Code: "日", Name: "日本語"}},
	}
	check("create", db.Create(&ada).Error)
	many := make([]User, 250)
	for i := range many {
		many[i] = User{Name: fmt.Sprintf("user %03d", i), Age: uint8(i % 100), ManagerID: &ada.ID, CompanyID: ada.CompanyID}
	}
	made := db.CreateInBatches(&many, 60)
	say("batches", made.RowsAffected, made.Error, many[249].ID-many[0].ID)
	say("refused", db.Create(&User{Name: "nobody"}).Error)
	nick := sql.NullString{String: "n", Valid: true}
	check("nick", db.Model(&ada).Update("nick", nick).Error)
	say("duplicate", errors.Is(db.Create(&User{Name: "x", Nick: nick}).Error, gorm.ErrDuplicatedKey))
	gone := uint(999999)
	say("no company", errors.Is(db.Create(&User{Name: "x", CompanyID: &gone}).Error, gorm.ErrForeignKeyViolated))
	var found User
	check("find", db.Preload("Cards").Preload("Speaks", func(tx *gorm.DB) *gorm.DB { return tx.Order("code") }).Joins("Company").First(&found, "users.name = ?", " Ada ").Error)
	say("found", found.Name, found.Age, *found.Email, found.Birthday.UTC().Format(time.RFC3339Nano), found.Score, found.Active, found.Data, found.Company.Name, len(found.Cards), found.Speaks)
	var one User
	say("none", errors.Is(db.First(&one, "name = ?", "missing").Error, gorm.ErrRecordNotFound))
	say("upsert", db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&[]Language{{"en", "English again"}, {"de", "Deutsch"}}).Error)
	say("ignored", db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Language{"en", "x"}).RowsAffected)
	var languages []Language
	db.Order("code").Find(&languages)
	say("languages", languages)
	var groups []struct {
		Decade int
		N      int64
		Oldest uint8
	}
	check("groups", db.Model(&User{}).Select("floor(age / 10) as decade, count(*) as n, max(age) as oldest").Group("floor(age / 10)").Having("count(*) > ?", 20).Order("decade").Scan(&groups).Error)
	say("groups", groups)
	var n int64
	old := db.Model(&User{}).Select("avg(age)")
	db.Model(&User{}).Where("age > (?)", old).Or("name LIKE ?", "%24_").Count(&n)
	say("older than the mean", n)
	db.Model(&User{}).Where("manager_id IN (?)", db.Model(&User{}).Select("id").Where("age = ?", 36)).Distinct("age").Count(&n)
	say("ages", n)
	done := db.Model(&User{}).Where("age BETWEEN ? AND ?", 10, 19).Updates(map[string]any{"score": gorm.Expr("score * ? + age", 2), "active": false})
	say("updated", done.RowsAffected, done.Error)
	var sum float64
	db.Model(&User{}).Select("sum(score)").Where("active = ?", false).Scan(&sum)
	say("sum", sum)
	say("deleted", db.Where("age < ?", 5).Delete(&User{}).RowsAffected)
	db.Model(&User{}).Count(&n)
	var with int64
	db.Unscoped().Model(&User{}).Count(&with)
	say("left", n, with)
	say("for good", db.Unscoped().Where("age < ?", 5).Delete(&User{}).RowsAffected)
	check("append", db.Model(&ada).Association("Speaks").Append(&Language{Code: "fr", Name: "Français"}))
	check("remove", db.Model(&ada).Association("Speaks").Delete(&Language{Code: "en"}))
	say("speaks", db.Model(&ada).Association("Speaks").Count())
	seen := 0
	var batch []User
	result := db.Where("age >= ?", 50).FindInBatches(&batch, 40, func(tx *gorm.DB, n int) error { seen += len(batch); return nil })
	say("in batches", seen, result.RowsAffected)
	cursor, err := db.Raw("SELECT id, name FROM users WHERE age = @age ORDER BY id", sql.Named("age", 42)).Rows()
	check("raw", err)
	for cursor.Next() {
		var id uint
		var name string
		check("scan", cursor.Scan(&id, &name))
		say("row", name)
	}
	cursor.Close()
}

func transactions(db *gorm.DB) {
	say("rolled back", db.Transaction(func(tx *gorm.DB) error {
		check("in", tx.Create(&Company{Name: "gone"}).Error)
		return errors.New("on purpose")
	}))
	check("nested", db.Transaction(func(tx *gorm.DB) error {
		check("outer", tx.Create(&Company{Name: "outer"}).Error)
		_ = tx.Transaction(func(inner *gorm.DB) error {
			check("inner", inner.Create(&Company{Name: "inner"}).Error)
			return errors.New("back to the savepoint")
		})
		tx.SavePoint("here")
		check("third", tx.Create(&Company{Name: "third"}).Error)
		return tx.RollbackTo("here").Error
	}))
	var names []string
	db.Model(&Company{}).Order("name").Pluck("name", &names)
	say("companies", names)
	// Eight at once, each reads under a lock what it writes.
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 10; j++ {
				check("locked", db.Transaction(func(tx *gorm.DB) error {
					var user User
					if err := tx.Clauses(clause.Locking{Strength: "UPDATE"}).Order("id").First(&user).Error; err != nil {
						return err
					}
					return tx.Model(&user).UpdateColumn("score", user.Score+1).Error
				}))
			}
		}()
	}
	group.Wait()
	var user User
	db.Order("id").First(&user)
	say("score", user.Score)
	check("prepared", db.Session(&gorm.Session{PrepareStmt: true}).Model(&user).Update("age", 37).Error)
}

func migrator(db *gorm.DB) {
	m := db.Migrator()
	say("has", m.HasTable(&User{}), m.HasColumn(&User{}, "nick"), m.HasIndex(&User{}, "by_name_age"), m.HasConstraint(&User{}, "Cards"), m.HasConstraint(&User{}, "age_limit"))
	types, err := m.ColumnTypes(&User{})
	check("types", err)
	for _, column := range types {
		nullable, _ := column.Nullable()
		length, _ := column.Length()
		primary, _ := column.PrimaryKey()
		kind, _ := column.ColumnType()
		say("column", column.Name(), kind, nullable, length, primary)
	}
	check("add", m.AddColumn(&Later{}, "Motto"))
	check("alter", m.AlterColumn(&Later{}, "Name"))
	check("rename", m.RenameColumn(&Later{}, "motto", "saying"))
	check("rename key", m.RenameColumn(&Card{}, "user_id", "owner_id"))
	check("rename key back", m.RenameColumn(&Card{}, "owner_id", "user_id"))
	check("index", m.CreateIndex(&Later{}, "Age"))
	check("rename index", m.RenameIndex(&Later{}, "idx_users_age", "by_age"))
	indexes, err := m.GetIndexes("users")
	check("indexes", err)
	var told []string
	for _, index := range indexes {
		unique, _ := index.Unique()
		told = append(told, fmt.Sprint(index.Name(), index.Columns(), unique))
	}
	sort.Strings(told)
	say("indexes", told)
	check("drop index", m.DropIndex(&Later{}, "by_age"))
	check("drop column", m.DropColumn(&Later{}, "saying"))
	check("drop constraint", m.DropConstraint(&User{}, "age_limit"))
	check("rename table", m.RenameTable("languages", "tongues"))
	check("rename table back", m.RenameTable("tongues", "languages"))
	check("view", m.CreateView("adults", gorm.ViewOption{Query: db.Model(&User{}).Where("age > 17")}))
	var n int64
	db.Table("adults").Count(&n)
	say("adults", n)
	check("drop view", m.DropView("adults"))
}

// Later is the table of users in a later version.
type Later struct {
	ID    uint
	Name  string `gorm:"size:90;not null;default:none"`
	Age   uint8  `gorm:"index"`
	Motto string `gorm:"size:40;comment:first"`
}

func (Later) TableName() string { return "users" }
